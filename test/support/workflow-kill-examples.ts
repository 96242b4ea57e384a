import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { BUSYBOX_IMAGE, makeImages, NODE_IMAGE } from '../../examples/workflows/images/make-images.ts';
import {
  EXAMPLE_ENV,
  EXAMPLE_SPEC,
  EXAMPLES,
  normalise,
  type Start,
  WEBHOOK_SECRET,
  WORKFLOW_EXAMPLES,
  type WorkflowExample,
} from './workflow-examples.ts';
import type { WorkflowCase } from './workflow-kill-cases.ts';
import { openWorkflowKillSurroundings, type WorkflowKillSurroundings } from './workflow-kill-surroundings.ts';

/** Every example of `examples/workflows` as a case. */
export const exampleCases = (): Promise<WorkflowCase[]> => Promise.all(WORKFLOW_EXAMPLES.map(caseOf));

/** Surroundings with the images of these cases, which take three seconds of processor time to build. */
export async function openExampleSurroundings(cases: readonly WorkflowCase[]): Promise<WorkflowKillSurroundings> {
  const setup = await openWorkflowKillSurroundings({ spec: EXAMPLE_SPEC, env: EXAMPLE_ENV });
  const texts = cases.flatMap(({ agents, manifests }) => [...agents, ...manifests]);
  try {
    if ([BUSYBOX_IMAGE, NODE_IMAGE].some((image) => texts.some((text) => text.includes(image))))
      await makeImages(setup.podman.docker);
    return setup;
  } catch (error) {
    await setup[Symbol.asyncDispose]();
    throw error;
  }
}

async function caseOf({ name, deploy, start, answers }: WorkflowExample): Promise<WorkflowCase> {
  const texts = (kind: 'agent' | 'workflow') =>
    Promise.all(deploy.filter((one) => one.kind === kind).map(({ file }) => readFile(join(EXAMPLES, file), 'utf8')));
  return {
    name,
    manifests: await texts('workflow'),
    agents: await texts('agent'),
    start: await startOf(start),
    answers: answers.map(({ verdict, text }) => (verdict === 'approve' ? { approve: text } : { reject: text })),
    normalise,
  };
}

async function startOf(start: Start): Promise<WorkflowCase['start']> {
  if (start.by === 'run') {
    const { by, ...body } = start;
    return { by, body: z.record(z.string(), z.json()).parse(body) };
  }
  const body = await readFile(join(EXAMPLES, start.body), 'utf8');
  const signature = createHmac('sha256', WEBHOOK_SECRET).update(body).digest('hex');
  const headers = { ...start.headers, 'x-svc-signature': `sha256=${signature}` };
  return { by: 'webhook', source: start.source, body, headers };
}
