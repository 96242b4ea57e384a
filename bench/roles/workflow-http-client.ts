import { randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import { closedLoop, type LoadPlan } from '../load.ts';
import { roleOptions, serveRole } from '../role.ts';
import { STEPS } from '../workflows/five-steps.ts';

/** Client of the peers that are called over HTTP: one request starts a workflow and is answered with its result. */
const { origin, path } = roleOptions<{ origin: string; path: string }>();
const ANSWER_WITHIN_MS = 60_000;
const pool = new Pool(origin, { connections: 256, headersTimeout: ANSWER_WITHIN_MS, bodyTimeout: ANSWER_WITHIN_MS });
const body = JSON.stringify({ steps: STEPS });

serveRole(
  (plan: LoadPlan) =>
    closedLoop(plan, async () => {
      const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body } as const;
      const answer = await pool.request({ ...request, path: path.replace('{id}', randomUUID()) });
      const text = await answer.body.text();
      if (answer.statusCode !== 200 || text !== `${STEPS}`)
        throw new Error(`a workflow was answered ${answer.statusCode}: ${text.slice(0, 500)}`);
    }),
  () => pool.destroy(),
);
