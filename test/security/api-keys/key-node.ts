import type { Collection, Documents } from '../../../runtime/documents.ts';
import type { Identity } from '../../../runtime/identity.ts';
import { systemRandom } from '../../../runtime/random.ts';
import { openApiKeys } from '../../../security/api-keys/api-keys.ts';
import { API_KEYS, type ApiKeyDocument } from '../../../security/api-keys/record.ts';
import { ManualClock } from '../identity-provider.ts';

export const person = (more: Partial<Identity> = {}): Identity => ({
  ...{ kind: 'tenant_user', subject: 'andy', tenant: 'alpha', roles: [], tier: 'pro' },
  ...more,
});
export const admin = (tenant = 'alpha'): Identity =>
  person({ subject: `admin-${tenant}`, tenant, roles: ['svc:admin'] });

/** Keys of one node; `audited` and `warned` have its audit entries and its warnings. */
export async function node(documents: Documents, clock = new ManualClock()) {
  const audited: Readonly<Record<string, string>>[] = [];
  const warned: string[] = [];
  const keys = await openApiKeys({
    ...{ documents, clock, random: systemRandom },
    warn: (message, error) => void warned.push(`${message} ${String(error)}`),
    audit: (event) => void audited.push(event),
  });
  const stored: Collection<ApiKeyDocument> = await documents.collection<ApiKeyDocument>(API_KEYS);
  return { keys, clock, audited, warned, stored };
}
