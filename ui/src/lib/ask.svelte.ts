// Questions the window asks before something leaves the machine, costs money or is final.

export type Question = {
  title: string;
  body: string;
  facts: { name: string; value: string; mono?: boolean }[];
  ok: string;
  danger?: boolean;
};

class Ask {
  question = $state.raw<Question | null>(null);
  #answer: ((yes: boolean) => void) | null = null;

  /** Asks once; answers false when the person turns away. */
  ask(question: Question): Promise<boolean> {
    this.#answer?.(false);
    this.question = question;
    return new Promise((resolve) => {
      this.#answer = resolve;
    });
  }

  answer(yes: boolean): void {
    this.question = null;
    this.#answer?.(yes);
    this.#answer = null;
  }
}

export const asking = new Ask();
