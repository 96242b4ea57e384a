import type { InvokeAnswer } from '../../../../actors/tool-session/api.ts';
import { type CallerAnswer, callTool } from '../../../caller-tools/call.ts';
import type { CallerToolParts } from '../../../caller-tools/parts.ts';
import { resultOf } from '../../../caller-tools/result.ts';
import { callOutcome } from '../../../seal/call-outcome.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { callProblems, ToolArguments, ToolParams, ToolResult } from '../../schemas/tools.ts';
import { whileClientWaits } from '../seal/caller.ts';

const schema = {
  tags: ['tools'],
  summary: 'Call a tool',
  description:
    'What a tool that ran reports as its failure is a 200 with `isError`. Each call is decided, recorded and chained as in SEAL.',
  headers: CallerHeaders,
  params: ToolParams,
  body: ToolArguments,
  response: { 200: ToolResult, ...callProblems },
};

/** POST /v1/tools/{name}: the same tools as over /mcp; statuses as spec 2 has them for SEAL. */
export function callToolRoute(app: RestApp, parts: CallerToolParts): void {
  app.post('/v1/tools/:name', { config: { access: 'run' }, schema }, async (request, reply) => {
    const caller = { identity: callerOf(request), trace: request.trace, signal: whileClientWaits(reply.raw) };
    const call = { source: 'rest', tool: request.params.name, arguments: request.body ?? {}, call: 'n:1' } as const;
    const { content, ...rest } = resultOf(await callOutcome(answerOf(callTool(parts, caller, call))));
    return { ...rest, content: [...content] };
  });
}

const answerOf = async (asked: Promise<CallerAnswer>): Promise<InvokeAnswer> => (await asked).answer;
