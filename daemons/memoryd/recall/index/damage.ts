/** Thrown where the index holds what this code never wrote. */
export class IndexDamage extends Error {
  override readonly name = 'IndexDamage';
}
