import { z } from 'zod';
import { AuditExport } from '../../../manifests/audit/record.ts';
import { TOOL_NAME_CHARS } from '../../../usecases/caller-tools.ts';
import { flagField } from '../../../usecases/operations/schemas/catalog.ts';
import {
  AGENT_ID_TEXT,
  EXECUTION_ID_TEXT,
  nextPageField,
  pageFields,
  uuid,
} from '../../../usecases/operations/schemas/fields.ts';
import { type ProblemStatuses, problemSchemas } from './problems.ts';

export const ToolParams = z.object({
  name: z.string().min(1).max(TOOL_NAME_CHARS).describe('Such as svc.agent.list.'),
});

export const ToolsQuery = z.object({
  query: z.string().max(1_000).optional().describe('Text contained in the name or the description.'),
  schemas: flagField.describe('Includes the JSON Schema of the arguments; without a value it is true.'),
});

/** A tool as svc.tools.list returns it (W39). */
const OfferedTool = z.object({
  name: z.string(),
  description: z.string(),
  source: z.enum(['builtin', 'mcp']),
  skip_judge: z.boolean(),
  input_schema: z.looseObject({}).describe('JSON Schema of its arguments.'),
});

export const ToolList = z.object({
  tool: z.enum(['svc.tools.list', 'svc.tools.search']),
  tools: z.array(OfferedTool.partial({ input_schema: true })),
  total: z.number().int(),
});

export const ToolArguments = z.looseObject({}).nullish().describe('Arguments of the tool; absent when it takes none.');

/** An MCP tool result. */
export const ToolResult = z
  .object({
    content: z.array(z.looseObject({})),
    structuredContent: z.looseObject({}).optional(),
    isError: z.boolean(),
  })
  .meta({ id: 'ToolResult' });

/** Errors of tool calls. A denial names its rule in `reason`. */
export const callProblems = problemSchemas({ style: 'coded', hasBody: true, also: [409, 422] });

/** The body of an attestation (H17). */
export const AttestBody = z.strictObject({
  agent_id: z.guid(AGENT_ID_TEXT),
  execution_id: z.guid(EXECUTION_ID_TEXT),
  container_id: z
    .string()
    .min(1)
    .max(128)
    .describe('Id of the container that was started for the execution; without a container, the execution id.'),
  agent_public_key: z.string().max(256).describe('Base64 of an Ed25519 public key: the 32 raw bytes, or the SPKI.'),
});

export const AttestAnswer = z.object({
  security_token: z.string().describe('JWT to send in every envelope.'),
  session_id: z.string(),
  expires_at: z.string().describe('ISO 8601.'),
});

const payloadExpected = ({ input }: z.core.$ZodRawIssue): string =>
  `${input === undefined ? 'required: ' : ''}expected base64 text or an object`;

/** A signed envelope (H13). */
export const EnvelopeBody = z
  .strictObject({
    protocol: z.string().max(32).describe('`seal/v1`.'),
    security_token: z.string().max(16_384).describe('JWT from attestation.'),
    signature: z.string().max(1_024).describe('Base64 of the Ed25519 signature over the payload.'),
    payload: z
      .union([z.string(), z.looseObject({})], { error: payloadExpected })
      .describe('JSON-RPC `tools/call`: base64 of the signed bytes, or an object, whose RFC 8785 form is signed.'),
    timestamp: z.string().max(64).describe('RFC 3339, UTC, within 30 s.'),
  })
  .meta({ id: 'SealEnvelope' });

const RpcId = z.union([z.string(), z.number(), z.null()]);

export const InvokeResponse = z
  .object({
    jsonrpc: z.literal('2.0'),
    id: RpcId,
    result: ToolResult.describe('MCP tool result.'),
  })
  .meta({ id: 'InvokeAnswer' });

const RpcProblem = z.object({
  jsonrpc: z.literal('2.0'),
  id: RpcId,
  error: z.object({
    code: z.number().int(),
    message: z.string(),
    data: z.object({ reason: z.string() }).optional(),
  }),
});

/** A request that is refused before it reaches the route gets the error body of all other routes. */
const RpcOrCoded = z
  .union([RpcProblem, z.looseObject({ error: z.string(), message: z.string() })])
  .meta({ id: 'InvokeProblem' });

/** Errors of the invoke routes: JSON-RPC errors with HTTP statuses of their own (H16). */
export function rpcProblemSchemas(statuses: Omit<ProblemStatuses, 'style'>) {
  const described = problemSchemas({ ...statuses, style: 'coded' });
  return Object.fromEntries(
    Object.entries(described).map(([status, { description }]) => [
      status,
      { description, content: { 'application/json': { schema: RpcOrCoded } } },
    ]),
  );
}

export const ToolsAnswer = z.object({
  tool: z.literal('svc.tools.list'),
  tools: z.array(OfferedTool),
  total: z.number().int(),
});

export const SessionSummary = z
  .object({
    session_id: z.string(),
    execution_id: z.string().nullable(),
    agent_id: z.string().nullable(),
    source: z.enum(['seal', 'inner_loop', 'mcp', 'rest']),
    status: z.enum(['active', 'closed', 'revoked']),
    calls: z.number().int(),
    denied: z.number().int(),
    opened_at: z.string().describe('ISO 8601.'),
  })
  .meta({ id: 'SealSession' });

export const MOST_SESSIONS = 1_000;

export const SessionQuery = z.object({
  execution_id: z.guid(EXECUTION_ID_TEXT).toLowerCase().optional(),
  ...pageFields(100, MOST_SESSIONS),
});

export const SessionList = z.object({ sessions: z.array(SessionSummary), count: z.number().int(), ...nextPageField });

export const SessionParams = z.object({ id: uuid('invalid session id') });

export const RevokeAnswer = z.object({ session_id: z.string(), status: z.enum(['revoked', 'closed']) });

export const AuditAnswer = AuditExport;
