import type { Redis } from 'ioredis';

/** What the start-up log must say about how much a crash of Redis may cost (design K10). Empty: nothing to say. */
export async function durabilityWarnings(servers: readonly Redis[]): Promise<string[]> {
  const warnings = await Promise.all(servers.map(warningsOf));
  return [...new Set(warnings.flat())];
}

async function warningsOf(server: Redis): Promise<string[]> {
  const warnings: string[] = [];
  let settings: Map<string, string>;
  try {
    settings = await readSettings(server);
  } catch {
    // Managed services forbid CONFIG: that is a fact to report, not a failure.
    return ['Redis does not tell its settings (CONFIG GET is refused): make sure that appendonly is on.'];
  }
  if (settings.get('appendonly') !== 'yes') {
    warnings.push('Redis appendonly is off: a crash of Redis loses everything since its last snapshot.');
  } else if (settings.get('appendfsync') !== 'always') {
    const policy = settings.get('appendfsync') ?? 'unknown';
    const loss = policy === 'everysec' ? 'up to a second (two when the disk is slow)' : 'what was not yet written out';
    warnings.push(`Redis appendfsync is ${policy}: a power failure may lose ${loss} of acknowledged work.`);
  }
  const policy = settings.get('maxmemory-policy');
  if (policy !== undefined && policy !== 'noeviction') {
    warnings.push(`Redis maxmemory-policy is ${policy}: Redis may throw mailboxes away; set it to noeviction.`);
  }
  return warnings;
}

async function readSettings(server: Redis): Promise<Map<string, string>> {
  const settings = new Map<string, string>();
  for (const name of ['appendonly', 'appendfsync', 'maxmemory-policy']) {
    const reply: unknown = await server.call('CONFIG', 'GET', name);
    if (Array.isArray(reply) && typeof reply[1] === 'string') settings.set(name, reply[1]);
  }
  return settings;
}
