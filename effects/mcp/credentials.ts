import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import type { Secrets } from '../../security/api.ts';
import { Redactor } from '../programs/redact.ts';
import type { McpServerSettings } from './settings.ts';

/** What a server is given in secret, looked up at each start, so that a restart takes a renewed one. */
export interface ServerCredentials {
  /** Of a program. */
  readonly environment: Readonly<Record<string, string>>;
  /** Of each request over HTTP. */
  readonly headers: Readonly<Record<string, string>>;
  /** Takes every value that was looked up out of a text. */
  clean(text: string): string;
}

/** Throws `failed_precondition` naming the reference that leads nowhere. */
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
  // Plain settings such as `LOG_LEVEL: debug` are no secrets; what is behind a reference is one.
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
