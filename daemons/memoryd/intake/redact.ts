/** Secrets out of what can be found, at a price that a text without any hardly pays. */
import { redactSecrets } from '../../../shared/secrets.ts';

/**
 * Every known shape of a credential has one of these in it: a long run without spaces, an address, or a word that names
 * it. Trying all shapes takes a hundred times as long as looking for these, and most texts have none of them.
 */
const mayHoldOne =
  /[A-Za-z0-9+/=_-]{16}|:\/\/|-----BEGIN|xox[a-z]-|xapp-|_authToken|authorization|aws|account/i;

export function redacted(text: string): string {
  return mayHoldOne.test(text) ? redactSecrets(text) : text;
}
