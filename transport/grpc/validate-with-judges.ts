import { randomUUID } from 'node:crypto';
import type { Judge, JudgePanelApi, PanelConcluded } from '../../actors/judge-panel/api.ts';
import { requireStartable } from '../../catalog/api.ts';
import { ValidateRequest, ValidateResponse } from '../../proto/gen/svc/runtime/v1/runtime.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import { callerOf, hasBegun, ownerOf } from './call-context.ts';
import { atDeadline } from './deadline.ts';
import type { GrpcParts } from './parts.ts';
import { decoded, type UnaryInBytes } from './service.ts';
import { type UnaryCall, unary } from './unary.ts';
import { judgesOf, ruleOf } from './validate-with-judges-request.ts';

type Parts = Pick<GrpcParts, 'agents' | 'limits' | 'logger' | 'streams'>;

/**
 * ValidateWithJudges (spec 1): judges of the caller's tenant, run in the caller's name, give one verdict. A call that
 * ends before, by cancel, deadline, a lost connection or a closing node, ends the panel and its judges too.
 *
 * INVALID_ARGUMENT names the field, NOT_FOUND the judge; FAILED_PRECONDITION when no judge gave a verdict.
 */
export const validateWithJudges = (parts: Parts, panels: JudgePanelApi): UnaryInBytes =>
  unary(parts, async (call) => {
    const { identity, trace } = callerOf(call.metadata);
    const request = decoded(ValidateRequest, call.request);
    const consensus = ruleOf(request.consensus);
    const judges = await deployed(judgesOf(request, parts.limits), identity, parts);
    const concluded = await whileCalled(call, parts, (signal) =>
      panels.validate(
        { panelId: randomUUID(), judges, consensus, identity },
        { trace, signal, onBegun: () => hasBegun(call.metadata) },
      ),
    );
    return ValidateResponse.encode(answer(concluded, judges)).finish();
  });

interface DeployedJudge extends Judge {
  /** As the caller named it. */
  readonly given: string;
}

/** Each judge by its UUID; throws `not_found` before any is asked. */
async function deployed(judges: readonly Judge[], identity: Identity, { agents }: Parts): Promise<DeployedJudge[]> {
  return Promise.all(
    judges.map(async (judge, index) => {
      try {
        const agent = await agents.get(identity, judge.agent);
        requireStartable(agent);
        const { agent_id } = agent;
        return { ...judge, agent: agent_id, given: judge.agent };
      } catch (cause) {
        if (!(cause instanceof SvcError) || cause.code !== 'not_found') throw cause;
        const field = `judges[${index}].agent_id`;
        throw new SvcError('not_found', `${field}: no agent ${judge.agent} is deployed in this tenant`, {
          field,
          cause,
        });
      }
    }),
  );
}

/** Runs `work` with a signal that ends when nobody waits for its answer any more. */
async function whileCalled<T>(call: UnaryCall, parts: Parts, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  using waiting = parts.streams.open(ownerOf(call.metadata));
  const forgetDeadline = atDeadline(call.getDeadline(), () => waiting.stop('client_gone'));
  call.once('cancelled', () => waiting.stop('client_gone'));
  if (call.cancelled) waiting.stop('client_gone');
  try {
    return await work(waiting.signal);
  } catch (thrown) {
    if (waiting.signal.aborted && waiting.signal.reason === 'server_closing') {
      throw new SvcError('unavailable', 'this node is closing; its judges were stopped, ask again', { cause: thrown });
    }
    throw thrown;
  } finally {
    forgetDeadline();
  }
}

/** Longest part of `reasoning` that one judge fills; `individual_results` holds all of it. */
const QUOTED_CHARS = 500;

function answer(concluded: PanelConcluded, judges: readonly DeployedJudge[]): ValidateResponse {
  const { consensus, individual_results: results, binary_valid } = concluded;
  if (consensus === null) throw new SvcError('internal', 'a concluded panel has no consensus');
  const names = new Map(judges.map(({ agent, given }) => [agent, given]));
  const individual = results.map(({ agent_id, ...result }) => ({
    judge_id: names.get(agent_id) ?? agent_id,
    ...result,
  }));
  const said = individual.map(({ judge_id, score, confidence, reasoning }) => {
    const quoted = reasoning.length > QUOTED_CHARS ? `${reasoning.slice(0, QUOTED_CHARS)}…` : reasoning;
    return `${judge_id} (score ${score}, confidence ${confidence}): ${quoted.toWellFormed()}`;
  });
  const verdict = `${consensus.strategy}: ${results.length} of ${judges.length} judges gave a verdict, ${binary_valid ? 'valid' : 'not valid'}`;
  return {
    score: consensus.score,
    confidence: consensus.confidence,
    reasoning: [verdict, ...said].join('\n'),
    binary_valid,
    individual_results: individual,
  };
}
