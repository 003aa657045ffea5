import "@fontsource-variable/inter/index.css";
import "@fontsource-variable/jetbrains-mono/index.css";
import "./tokens.css";
import "./base.css";
import { mount } from "svelte";
import App from "./App.svelte";
import { followSystem } from "./lib/prefs.svelte";

followSystem();

const target = document.getElementById("app");
if (!target) throw new Error("BUG: index.html has no #app");
mount(App, { target });
