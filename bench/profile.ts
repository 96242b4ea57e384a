import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { basename } from 'node:path';
import { serveRole } from './role.ts';

/**
 * Serves a role; with `SVC_BENCH_PROFILE=PREFIX` in the environment it writes a CPU profile of the whole process to
 * `PREFIX-ROLE.cpuprofile` (a developer's tool: figures of a profiled run say nothing).
 */
export async function serveProfiled<Question, Answer>(
  handle: (question: Question) => Promise<Answer>,
  stop: () => Promise<void>,
): Promise<void> {
  const prefix = process.env.SVC_BENCH_PROFILE;
  if (prefix === undefined) return serveRole(handle, stop);
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.start');
  const role = basename(process.argv[1] ?? 'role', '.ts');
  serveRole(handle, async () => {
    const { profile } = await session.post('Profiler.stop');
    writeFileSync(`${prefix}-${role}.cpuprofile`, JSON.stringify(profile));
    await stop();
  });
}
