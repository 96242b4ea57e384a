import type { ToolOffer } from '../../../manifests/tool/scope.ts';
import {
  type CallerAnswer,
  type CallerToolParts,
  callerGrant,
  callTool,
  resultOf,
} from '../../../usecases/caller-tools.ts';
import { isSet } from '../../../usecases/operations/schemas/catalog.ts';
import { CallerHeaders } from '../../../usecases/operations/schemas/fields.ts';
import { callOutcome } from '../../../usecases/seal/invoke-tool.ts';
import type { InvokeAnswer } from '../../../usecases/tool-sessions.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { callProblems, ToolArguments, ToolList, ToolParams, ToolResult, ToolsQuery } from '../schemas/seal.ts';
import { whileClientWaits } from './seal.ts';

/** Adds /v1/tools, for callers without an agent, on nodes with tool sessions. */
export function toolRoutes(app: RestApp, { mcp }: RestParts): void {
  if (mcp === undefined) return;
  listToolsRoute(app, mcp);
  callToolRoute(app, mcp);
}

const listToolsSchema = {
  operationId: 'tools.list',
  tags: ['tools'],
  summary: 'List the tools the caller may use',
  description: 'Without those of files and commands, which belong to an execution.',
  headers: CallerHeaders,
  querystring: ToolsQuery,
  response: { 200: ToolList, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/tools: svc.tools.list, and svc.tools.search with `query` (W39). */
function listToolsRoute(app: RestApp, parts: CallerToolParts): void {
  app.get('/v1/tools', { config: { access: 'read' }, schema: listToolsSchema }, async (request) => {
    const { query, schemas } = request.query;
    const wanted = query?.toLowerCase() ?? '';
    const { tools } = await callerGrant(parts, callerOf(request));
    const found = tools
      .filter(({ name, description }) => `${name}\n${description}`.toLowerCase().includes(wanted))
      .map((offer) => toolEntry(offer, isSet(schemas)));
    const tool = query === undefined ? ('svc.tools.list' as const) : ('svc.tools.search' as const);
    return { tool, tools: found, total: found.length };
  });
}

const toolEntry = ({ name, description, source, skip_judge, input_schema }: ToolOffer, withSchema: boolean) => ({
  name,
  description,
  source,
  skip_judge,
  ...(withSchema ? { input_schema } : {}),
});

const callToolSchema = {
  operationId: 'tools.call',
  tags: ['tools'],
  summary: 'Call a tool',
  description:
    'What a tool that ran reports as its failure is a 200 with `isError`. Each call is decided, recorded and chained as in SEAL.',
  headers: CallerHeaders,
  params: ToolParams,
  body: ToolArguments,
  response: { 200: ToolResult, ...callProblems },
};

/** Every reader may call: its grant has only what its role allows. A key needs the scope to run tools. */
export const CALL_ACCESS = { access: 'read', scope: { area: 'tools', action: 'run' } } as const;

/** POST /v1/tools/{name}: calls the same tools as /mcp, with the statuses of SEAL (H16). */
function callToolRoute(app: RestApp, parts: CallerToolParts): void {
  app.post('/v1/tools/:name', { config: CALL_ACCESS, schema: callToolSchema }, async (request, reply) => {
    const caller = { identity: callerOf(request), trace: request.trace, signal: whileClientWaits(reply.raw) };
    const call = { source: 'rest', tool: request.params.name, arguments: request.body ?? {}, call: 'n:1' } as const;
    const { content, ...rest } = resultOf(await callOutcome(answerOf(callTool(parts, caller, call))));
    return { ...rest, content: [...content] };
  });
}

const answerOf = async (asked: Promise<CallerAnswer>): Promise<InvokeAnswer> => (await asked).answer;
