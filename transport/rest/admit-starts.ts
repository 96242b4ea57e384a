import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Admission } from '../admission.ts';

/**
 * What brings new work. Everything else is taken always: reads, health, cancels, answers to approvals, signals, removals,
 * and calls of tools, of which those that start a run are refused by their name (transport/caller-tools, transport/seal).
 */
const NEW_WORK: ReadonlySet<string> = new Set([
  '/v1/agents',
  '/v1/agents/:id/execute',
  '/v1/agents/generate',
  '/v1/execute',
  '/v1/execute/intent',
  '/v1/executions',
  '/v1/stimuli',
  '/v1/webhooks/:source',
  '/v1/workflows',
  '/v1/workflows/:name/run',
  '/v1/workflows/generate',
]);

const begun = new WeakMap<FastifyRequest, () => void>();

/** Says that what a request starts is durable, where its answer waits for more than that. */
export const hasBegun = (request: FastifyRequest): void => begun.get(request)?.();

/** Whether a request may come in; throws `overloaded`. */
export type Admit = (request: FastifyRequest, reply: FastifyReply) => void;

/** Refuses new work of an overloaded node before it is known who asks, and counts what is under way until its answer. */
export const admitStarts =
  (admission: Admission): Admit =>
  (request, reply) => {
    if (request.method !== 'POST' || !NEW_WORK.has(request.routeOptions.url ?? '')) return;
    const ended = admission.enter();
    begun.set(request, ended);
    // Also when the client has gone before it is answered.
    reply.raw.once('close', ended);
  };
