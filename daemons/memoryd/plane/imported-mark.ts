/** The mark beside a ruling that an import brought: by it readers tell it from one that the gate gave here. */

const prefix = 'im/';

export function importedMark(key: string): string {
  return prefix + key;
}

/** The JSON text of a ruling with what its mark says. */
export function withMark(json: string, isImported: boolean): string {
  return isImported ? `${json.slice(0, -1)},"imported":true}` : json;
}
