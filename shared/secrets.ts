/**
 * Finds what looks like a credential in a text. The rules are secretlint's recommended preset, kept up by its
 * project; the table below adds published key shapes that the preset lacks or knows only in their exact length.
 * Only shapes are known: a password in plain words is not found.
 */
import { rules as presetRules } from '@secretlint/secretlint-rule-preset-recommend';

export interface Secret {
  /** UTF-16 offsets into the text, as `slice` takes them. */
  readonly start: number;
  readonly end: number;
  /** What it looks like: `github`, `privatekey`, `aws-key-id`. */
  readonly kind: string;
}

/** The part of a preset's rule that is used here. */
interface Rule {
  readonly meta: { readonly id: string };
  create(
    context: {
      createTranslator: () => (id: string) => string;
      report: (found: { range: readonly [number, number] }) => void;
      ignore: () => void;
    },
    options: Record<string, never>,
  ): { file(source: Source): unknown };
}

/** No path and no extension: the rules for kinds of files stay out, and none of them reads a file. */
interface Source {
  readonly content: string;
  readonly contentType: 'text';
  readonly ext: '';
}

const idStart = '@secretlint/secretlint-rule-';
/** It lets a comment in the text switch the other rules off. */
const excluded = 'filter-comments';
const rules = (presetRules as unknown as readonly Rule[])
  .map((rule) => ({ rule, kind: rule.meta.id.replace(idStart, '') }))
  .filter(({ kind }) => kind !== excluded);

/** Shapes beyond the preset, each with where it is published. */
const shapes: readonly { kind: string; shape: RegExp; source: string }[] = [
  {
    kind: 'aws-key-id',
    shape: /\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b/g,
    source: 'https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html',
  },
  {
    // The preset finds these too, but reports a span that begins at the name before the key.
    kind: 'aws',
    shape: /(?<=secret_?access_?key["']?\s{0,4}(?:=>|[:=])\s{0,4}["']?)[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])/gi,
    source: 'https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html',
  },
  {
    // Without its end too: a key cut in the middle is still most of a key.
    kind: 'privatekey',
    shape:
      /-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:\s{1,4}[A-Z][A-Za-z-]{1,20}: [^\r\n]{1,200}){0,4}(?:(?:\s|\\[nr]){0,4}[A-Za-z0-9+/=]{24,}){0,400}(?:(?:(?:\s|\\[nr]){0,4}[A-Za-z0-9+/=]{1,76})?(?:\s|\\[nr]){0,4}-----END [A-Z0-9 ]{0,60}-----)?/g,
    source: 'https://www.rfc-editor.org/rfc/rfc7468',
  },
  {
    kind: 'openai',
    shape: /(?<![A-Za-z0-9_-])sk-[A-Za-z0-9_-]{20,256}(?![A-Za-z0-9_-])/g,
    source: 'https://platform.openai.com/docs/api-reference/authentication',
  },
  {
    kind: 'github',
    shape:
      /(?<![A-Za-z0-9_])(?:gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{50,255})(?![A-Za-z0-9_])/g,
    source: 'https://github.blog/2021-04-05-behind-githubs-new-authentication-token-formats/',
  },
  {
    kind: 'gitlab',
    shape: /(?<![A-Za-z0-9_-])gl(?:pat|oas|dt|rt|cbt|ptt|ft|imt|agent|soat|ffct)-[A-Za-z0-9_.-]{20,300}/g,
    source: 'https://docs.gitlab.com/security/tokens/#token-prefixes',
  },
  {
    kind: 'google-api-key',
    shape: /(?<![A-Za-z0-9_-])AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])/g,
    source: 'https://cloud.google.com/docs/authentication/api-keys',
  },
  {
    kind: 'stripe',
    shape: /(?<![A-Za-z0-9_])(?:(?:sk|rk)_(?:live|test)|whsec)_[A-Za-z0-9+/=]{16,250}/g,
    source: 'https://docs.stripe.com/keys',
  },
  {
    kind: 'pypi',
    shape: /(?<![A-Za-z0-9_-])pypi-AgE[A-Za-z0-9_-]{50,1000}/g,
    source: 'https://pypi.org/help/#apitoken',
  },
  {
    kind: 'digitalocean',
    shape: /(?<![A-Za-z0-9_])do[opr]_v1_[a-f0-9]{64}(?![A-Za-z0-9])/g,
    source: 'https://docs.digitalocean.com/reference/api/create-personal-access-token/',
  },
  {
    kind: 'tailscale',
    shape: /(?<![A-Za-z0-9_-])tskey-[a-z]{2,12}-[A-Za-z0-9]{8,40}(?:-[A-Za-z0-9]{8,64})?/g,
    source: 'https://tailscale.com/kb/1277/key-prefixes',
  },
  {
    kind: 'telegram-bot',
    shape: /(?<![A-Za-z0-9:_-])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])/g,
    source: 'https://core.telegram.org/bots/api#authorizing-your-bot',
  },
  {
    kind: 'age',
    shape: /\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b/g,
    source: 'https://github.com/C2SP/C2SP/blob/main/age.md',
  },
  {
    kind: 'jwt',
    shape: /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,2000}\.eyJ[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]{16,2000}/g,
    source: 'https://www.rfc-editor.org/rfc/rfc7519',
  },
  {
    kind: 'npm',
    shape: /(?<=_authToken=)(?!\$|\[redacted)[^\s"']{8,512}/g,
    source: 'https://docs.npmjs.com/cli/configuring-npm/npmrc',
  },
  {
    kind: 'authorization',
    shape:
      /(?<=\bAuthorization["']?\s{0,4}[:=]\s{0,4}["']?(?:Bearer|Basic|Token)\s{1,4})[A-Za-z0-9._~+/-]{12,2048}=*/gi,
    source: 'https://www.rfc-editor.org/rfc/rfc6750',
  },
];

/**
 * Every shape has one of these in it, or a long run without spaces. To try all shapes takes a hundred times as long as
 * to look for these, and most texts have none of them.
 */
const tellingWord = /:\/\/|-----BEGIN|xox[a-z]-|xapp-|_authToken|authorization/i;
const runChars = 16;
const inRun = Uint8Array.from({ length: 128 }, (_, code) =>
  /[A-Za-z0-9+/=_-]/.test(String.fromCharCode(code)) ? 1 : 0,
);

/** In the order of the text, none overlapping. */
export function findSecrets(text: string): Secret[] {
  if (!hasLongRun(text) && !tellingWord.test(text)) return [];
  const found: Secret[] = [];
  const source: Source = { content: text, contentType: 'text', ext: '' };
  for (const { rule, kind } of rules) {
    const context = {
      createTranslator: () => (id: string) => id,
      report: ({ range: [start, end] }: { range: readonly [number, number] }) => {
        found.push({ start, end, kind });
      },
      ignore: () => {},
    };
    rule.create(context, {}).file(source);
  }
  for (const { kind, shape } of shapes) {
    for (const match of text.matchAll(shape))
      found.push({ start: match.index, end: match.index + match[0].trimEnd().length, kind });
  }
  return withoutOverlaps(found);
}

/** A run of that length lies on one of every so many places, so that few are looked at. */
function hasLongRun(text: string): boolean {
  const isIn = (at: number) => inRun[text.charCodeAt(at)] === 1;
  for (let at = runChars - 1; at < text.length; at += runChars) {
    if (!isIn(at)) continue;
    let [start, end] = [at, at + 1];
    while (start > 0 && at - start < runChars && isIn(start - 1)) start -= 1;
    while (end < text.length && end - start < runChars && isIn(end)) end += 1;
    if (end - start >= runChars) return true;
  }
  return false;
}

/** The text with `[redacted: kind]` in the place of each. */
export function redactSecrets(text: string): string {
  let redacted = '';
  let from = 0;
  for (const { start, end, kind } of findSecrets(text)) {
    redacted += `${text.slice(from, start)}[redacted: ${kind}]`;
    from = end;
  }
  return redacted + text.slice(from);
}

/** Where two rules see the same text, the span is their union under the name of the first. */
function withoutOverlaps(found: readonly Secret[]): Secret[] {
  const merged: Secret[] = [];
  for (const secret of found.toSorted((left, right) => left.start - right.start)) {
    const last = merged.at(-1);
    if (!last || secret.start >= last.end) merged.push(secret);
    else if (secret.end > last.end) merged[merged.length - 1] = { ...last, end: secret.end };
  }
  return merged;
}
