/** A value that is JSON text already, so that a reply can carry a stored record without parsing it. */
export class RawJson<T = unknown> {
  /** The type of the value that `json` holds. */
  declare readonly value?: T;
  readonly json: string;

  constructor(json: string) {
    this.json = json;
  }
}
