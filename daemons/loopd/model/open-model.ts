/** The model that the settings name. */
import { readFileSync } from 'node:fs';
import { AppError } from '../../../shared/errors.ts';
import type { LoopdSettings } from '../../../shared/settings.ts';
import { BuiltinModel } from './builtin.ts';
import type { Model } from './model.ts';
import { OpenAiModel } from './openai.ts';

/** The name that stands for whatever the server serves. */
const anyName = 'default';

/** @throws AppError config-invalid, socket-path-too-long */
export function openModel(settings: LoopdSettings['model']): Model {
  const { url, name, key_file: keyFile, idle_ms: idleMs, context_tokens: contextTokens } = settings;
  const kind = settings.kind || (url === '' ? 'builtin' : 'openai');
  if (kind === 'builtin') return new BuiltinModel();
  if (url === '')
    throw new AppError(
      'config-invalid',
      'model.kind is "openai" and model.url is empty: there is no server to ask',
      {
        details: { field: 'model.url' },
      },
    );
  return new OpenAiModel({
    url,
    limits: { idleMs },
    ...(name === '' || name === anyName ? {} : { name }),
    ...(keyFile === '' ? {} : { apiKey: readKey(keyFile) }),
    ...(contextTokens === 0 ? {} : { contextTokens }),
  });
}

function readKey(path: string): string {
  let key: string;
  try {
    key = readFileSync(path, 'utf8').trim();
  } catch (cause) {
    const errno = (cause as NodeJS.ErrnoException).code ?? 'unknown';
    throw new AppError('config-invalid', `model.key_file ${path} could not be read: ${errno}`, {
      details: { field: 'model.key_file', value: path },
      cause,
    });
  }
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new AppError('config-invalid', `model.key_file ${path} does not hold one line with a key`, {
    details: { field: 'model.key_file', value: path },
  });
}
