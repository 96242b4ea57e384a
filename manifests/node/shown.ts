import { z } from 'zod';
import { yaml } from '../late-libraries.ts';
import { API_VERSION } from '../metadata.ts';
import type { Json } from '../schema-problems.ts';
import type { NodeSettings } from './settings.ts';

export const REDACTED = '[redacted]';

/** Keys whose values are secret; `env:` and `secret:` only name one. */
const SECRET_KEY = /(^|_)(key|token|secret|secret_id|password|passphrase|credential|bearer|authorization)$/i;

/** Maps whose values may all be secrets, whatever their keys. */
const SECRET_MAPS = new Set(['headers', 'credentials', 'environment', 'env']);

/** Keys that name a key, and the block `spec.secrets`, which has no secret values. */
const NAMES = new Set(['signing.vault.key', 'secrets.keys.vault.key', 'secrets']);

/** Lists that may hold secrets: programs get secrets as arguments too, and it is unknown which arguments these are. */
const SECRET_LISTS = new Set(['args', 'secrets']);

const REFERENCE = /^(env|secret):/;

const LITERAL = /^literal:/;

/** The effective settings as a `svc.yaml` without secrets: references are shown, not resolved. */
export function shownSettings(settings: NodeSettings): string {
  const plain = z.json().parse(JSON.parse(JSON.stringify(settings)));
  return yaml().stringify(
    { apiVersion: API_VERSION, kind: 'NodeConfig', spec: shown(plain, [], false) },
    { lineWidth: 0 },
  );
}

function shown(value: Json, path: readonly string[], isSecret: boolean): Json {
  if (typeof value === 'string') return shownText(value, isSecret);
  if (Array.isArray(value)) return value.map((one) => shown(one, path, isSecret));
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).map(([key, one]) => {
    const at = [...path, key];
    return [key, shown(one, at, isSecret || holdsSecrets(key, at.join('.')))] as const;
  });
  return Object.fromEntries(entries);
}

const holdsSecrets = (key: string, place: string): boolean =>
  !NAMES.has(place) && (SECRET_KEY.test(key) || SECRET_MAPS.has(key) || SECRET_LISTS.has(key));

function shownText(text: string, isSecret: boolean): string {
  if (REFERENCE.test(text)) return text;
  if (LITERAL.test(text)) return `literal:${REDACTED}`;
  return isSecret ? REDACTED : withoutCredentials(text);
}

/** Redacts user, password and query of anything that looks like a URL; databases take passwords in the query too. */
function withoutCredentials(text: string): string {
  const [, scheme, rest] = /^([a-z][a-z0-9+.-]*:\/\/)(.*)$/is.exec(text) ?? [];
  if (scheme === undefined || rest === undefined) return text;
  // The last @ ends the credentials, which may contain an unescaped /, ? or @.
  const at = rest.lastIndexOf('@');
  const place = rest.slice(at + 1);
  const query = place.indexOf('?');
  const hidden = at === -1 ? '' : `${REDACTED}@`;
  return `${scheme}${hidden}${query === -1 ? place : `${place.slice(0, query)}?${REDACTED}`}`;
}
