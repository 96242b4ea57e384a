import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import type { Secrets } from '../../security/api.ts';
import { Redactor } from '../programs/captured-output.ts';
import type { McpServerSettings } from './limits.ts';

/** Secrets of a server, resolved at each start, so that a restart uses a renewed one. */
export interface ServerCredentials {
  /** Environment of a program. */
  readonly environment: Readonly<Record<string, string>>;
  /** Headers of each HTTP request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Removes all resolved values from a text. */
  clean(text: string): string;
}

/** Resolves the references of a server's settings. Throws `failed_precondition` naming an unknown one. */
export async function lookUpCredentials(
  { credentials, environment, headers, url }: McpServerSettings,
  secrets: Secrets,
): Promise<ServerCredentials> {
  const hidden: string[] = [];
  const look = async (texts: Readonly<Record<string, string>>): Promise<Record<string, string>> => {
    const found: Record<string, string> = {};
    for (const [name, reference] of Object.entries(texts)) {
      const value = await secrets.resolve(SYSTEM_TENANT, reference);
      hidden.push(value);
      found[name] = value;
    }
    return found;
  };
  const given = await look(credentials);
  // Plain settings such as `LOG_LEVEL: debug` are not secret; the values of references are.
  const plain = Object.fromEntries(Object.entries(environment).filter(([, text]) => !isReference(text)));
  const referred = await look(Object.fromEntries(Object.entries(environment).filter(([, text]) => isReference(text))));
  const clean = (text: string): string => {
    const redactor = new Redactor(hidden);
    return redactor.push(text) + redactor.end();
  };
  if (url === undefined) return { environment: { ...plain, ...referred, ...given }, headers: {}, clean };
  const { bearer } = given;
  const authorization: Record<string, string> = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
  return { environment: {}, headers: { ...(await look(headers)), ...authorization }, clean };
}

const isReference = (text: string): boolean => /^(env|secret|literal):/.test(text);
