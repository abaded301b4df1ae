/** A request whose parameters are wrong in a way that a schema cannot say; the dispatcher answers it with -32602. */
export class ParamsError extends Error {
  override readonly name = 'ParamsError';
  readonly field: string;
  readonly value: unknown;

  constructor(field: string, message: string, value?: unknown) {
    super(message);
    this.field = field;
    this.value = value;
  }
}
