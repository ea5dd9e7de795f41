/** Of many questions only the last matters: while one is under way the next waits, and what comes after takes its place. */
export class Latest<Q, A> {
  readonly #task: (question: Q) => Promise<A>;
  readonly #done: (answer: A, question: Q) => void;
  readonly #failed: (error: unknown) => void;
  #next: { question: Q } | undefined;
  #busy = false;

  constructor(task: (question: Q) => Promise<A>, done: (answer: A, question: Q) => void, failed: (error: unknown) => void) {
    this.#task = task;
    this.#done = done;
    this.#failed = failed;
  }

  ask(question: Q): void {
    this.#next = { question };
    if (!this.#busy) void this.#run();
  }

  async #run(): Promise<void> {
    this.#busy = true;
    for (let next = this.#next; next; next = this.#next) {
      this.#next = undefined;
      try {
        this.#done(await this.#task(next.question), next.question);
      } catch (error) {
        this.#failed(error);
      }
    }
    this.#busy = false;
  }
}
