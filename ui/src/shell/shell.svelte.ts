// What is open over the panes.
class Shell {
  drawer = $state(false);
  sheet = $state(false);
  palette = $state(false);
}

export const shell = new Shell();
