/** Tool calls put together from their pieces: by id, else by index, else the latest. */
export interface CallDelta {
  readonly id?: unknown;
  readonly index?: unknown;
  readonly function?: { readonly name?: unknown; readonly arguments?: unknown } | null;
}

interface Call {
  id: string;
  index: unknown;
  name: string;
  arguments: string;
}

export class CallPieces {
  readonly #calls: Call[] = [];

  get calls(): { name: string; arguments: string }[] {
    return this.#calls.map(({ name, arguments: args }) => ({ name, arguments: args }));
  }

  get text(): string {
    return this.#calls.map((call) => call.name + call.arguments).join('');
  }

  add({ id, index, function: made }: CallDelta): void {
    const name = typeof made?.name === 'string' ? made.name : '';
    const given = made?.arguments;
    // Some servers send the object itself.
    const args =
      typeof given === 'string' ? given : given === undefined || given === null ? '' : JSON.stringify(given);
    const known = this.#find({ id: typeof id === 'string' ? id : '', index, name });
    if (known) {
      known.name ||= name;
      known.arguments += args;
    } else this.#calls.push({ id: typeof id === 'string' ? id : '', index, name, arguments: args });
  }

  #find({ id, index, name }: { id: string; index: unknown; name: string }): Call | undefined {
    // A new id is a new call whatever its index: some servers give each call the index 0.
    if (id !== '') return this.#calls.find((call) => call.id === id);
    const latest =
      typeof index === 'number' ? this.#calls.findLast((call) => call.index === index) : this.#calls.at(-1);
    // A name begins a call, unless it is sent again with each piece of one that is not complete.
    return latest && name !== '' && latest.name !== '' && isComplete(latest.arguments) ? undefined : latest;
  }
}

function isComplete(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return text === '';
  }
}
