import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { agentWarnings, validateAgent } from '../../../catalog/manifest-reading.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Identity } from '../../../runtime/identity.ts';
import { agentNamed } from '../../../usecases/operations/agent-named.ts';
import {
  DeployAnswer as AgentDeployAnswer,
  ValidateAnswer as AgentValidateAnswer,
} from '../../../usecases/operations/schemas/agents.ts';
import { DeployBody, DeployQuery, isSet, ValidateBody } from '../../../usecases/operations/schemas/catalog.ts';
import { AgentIdParams, CallerHeaders, VersionQuery } from '../../../usecases/operations/schemas/fields.ts';
import { DeployAnswer, ValidateAnswer, WorkflowParams } from '../../../usecases/operations/schemas/workflows.ts';
import type { RestApp, RestParts } from '../parts.ts';
import type { ProblemStyle, ProblemTexts } from '../problem.ts';
import { callerOf } from '../request-context.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { acceptYamlBodies } from '../signed-body.ts';

/** The fixed text of 404 (H10). */
const AGENT_TEXTS = { notFound: 'agent not found' } as const;

/** The routes of agents that take or give a manifest. */
export function agentManifestRoutes(app: RestApp, parts: RestParts): void {
  const { agents, runtimes = null, models = () => [], storage } = parts;
  const node = () => ({ runtimes, models: models(), storage });
  addManifestRoutes(app, {
    kind: 'agent',
    style: 'plain',
    texts: AGENT_TEXTS,
    deployed: AgentDeployAnswer,
    async deploy(caller, { manifest_yaml, ...options }) {
      const deployed = await agents.deploy(caller, manifest_yaml, options);
      const warnings = await agentWarnings(manifest_yaml, node());
      return warnings.length === 0 ? deployed : { ...deployed, warnings };
    },
    validated: AgentValidateAnswer,
    validate: (_caller, manifestYaml) => validateAgent(manifestYaml, node()),
  });
  const config = { access: 'read', problems: 'plain', texts: AGENT_TEXTS } as const;
  const schema = { ...exportSchema('agent', 'plain'), params: AgentIdParams };
  app.get('/v1/agents/:id/export', { config, schema }, async (request, reply) => {
    const caller = callerOf(request);
    return sendYaml(reply, await agents.export(caller, await agentNamed(agents, caller, request.params.id)));
  });
}

/** The same of workflows, on nodes with workflows. */
export function workflowManifestRoutes(app: RestApp, { workflows }: RestParts): void {
  if (workflows === undefined) return;
  const { catalog } = workflows;
  const readerOf = ({ tenant, subject }: Identity) => ({ tenant, subject });
  addManifestRoutes(app, {
    kind: 'workflow',
    style: 'coded',
    deployed: DeployAnswer,
    deploy: (caller, { manifest_yaml, ...options }) => catalog.deploy(caller, manifest_yaml, options),
    validated: ValidateAnswer,
    validate: (caller, manifestYaml) => catalog.validate(readerOf(caller), manifestYaml),
  });
  const schema = { ...exportSchema('workflow', 'coded'), params: WorkflowParams, querystring: VersionQuery };
  const config = { access: 'read', problems: 'coded' } as const;
  app.get('/v1/workflows/:name/export', { config, schema }, async (request, reply) => {
    const { manifest_yaml } = await catalog.get(
      readerOf(callerOf(request)),
      request.params.name,
      request.query.version,
    );
    return sendYaml(reply, manifest_yaml);
  });
}

/** The differences between the routes of agents' manifests and those of workflows' manifests. */
interface Manifests<Deployed, Validated> {
  readonly kind: Kind;
  readonly style: ProblemStyle;
  readonly texts?: ProblemTexts;
  readonly deployed: z.ZodType<unknown, Deployed>;
  deploy(caller: Identity, asked: ReturnType<typeof deployment>): Promise<Deployed>;
  readonly validated: z.ZodType<unknown, Validated>;
  validate(caller: Identity, manifestYaml: string): Promise<Validated>;
}

type Kind = 'agent' | 'workflow';

/** The kind with its article. */
const A = { agent: 'an agent', workflow: 'a workflow' } as const;

/** POST /v1/agents (H11) and /validate, or those of workflows. In a plugin of their own, since only they accept YAML bodies. */
function addManifestRoutes<Deployed, Validated>(app: RestApp, manifests: Manifests<Deployed, Validated>): void {
  const { kind, style, texts = {}, deployed, validated } = manifests;
  const deploySchema = {
    operationId: `${kind}s.deploy`,
    tags: [`${kind}s`],
    summary: `Deploy ${A[kind]}`,
    description:
      'Takes the manifest as YAML, or as JSON that holds it. A second (name, version) in a scope needs `force`.',
    headers: CallerHeaders,
    querystring: DeployQuery,
    body: bodyOf(DeployBody, z.string().min(1).describe('The manifest.')),
    response: { 200: deployed, ...problemSchemas({ style, hasBody: true, also: [409, 422] }) },
  };
  const validateSchema = {
    operationId: `${kind}s.validate`,
    tags: [`${kind}s`],
    summary: `Check ${A[kind]} manifest without deploying it`,
    description: 'Always 200: `valid` is false when there are errors. Warnings never refuse a deploy.',
    headers: CallerHeaders,
    // Accepts any document, since the validation answers for each.
    body: bodyOf(ValidateBody, z.unknown().describe(`The ${kind} manifest.`)),
    response: { 200: validated, ...problemSchemas({ style, hasBody: true }) },
  };
  app.register((plugin: RestApp, _options, done) => {
    acceptYamlBodies(plugin);
    const config = { problems: style, texts } as const;
    plugin.post(`/v1/${kind}s`, { config: { ...config, access: 'write' }, schema: deploySchema }, async (request) =>
      manifests.deploy(callerOf(request), deployment(request.body, request.query)),
    );
    // It changes nothing, so it needs only read access.
    plugin.post(
      `/v1/${kind}s/validate`,
      { config: { ...config, access: 'read' }, schema: validateSchema },
      async (request) => manifests.validate(callerOf(request), manifestBody(ValidateBody, request.body).manifest_yaml),
    );
    done();
  });
}

const bodyOf = (json: z.ZodType, yaml: z.ZodType) => ({
  content: { 'application/json': { schema: json }, 'application/yaml': { schema: yaml } },
});

const exportSchema = (kind: Kind, style: ProblemStyle) => ({
  operationId: `${kind}s.export`,
  tags: [`${kind}s`],
  summary: `Get the manifest of ${A[kind]} as it was deployed`,
  headers: CallerHeaders,
  response: {
    200: { description: 'The manifest.', content: { 'application/yaml': { schema: z.unknown() } } },
    ...problemSchemas({ style, also: [404] }),
  },
});

/** Sends the text itself: the serializer of the schema would make a JSON string of it. */
const sendYaml = (reply: FastifyReply, yaml: string): FastifyReply =>
  reply
    .type('application/yaml; charset=utf-8')
    .serializer((text: string) => text)
    .send(yaml);

/** The body in its JSON form, for a manifest sent as YAML or as JSON. Throws `invalid_argument`. */
function manifestBody<T extends { readonly manifest_yaml: string }>(schema: z.ZodType<T>, body: unknown): T {
  const asked = schema.safeParse(typeof body === 'string' ? { manifest_yaml: body } : body);
  if (asked.success) return asked.data;
  const [first] = asked.error.issues;
  const field = first === undefined || first.path.length === 0 ? 'body' : first.path.join('.');
  const isKey = first?.code === 'unrecognized_keys';
  const text =
    (!isKey && field === 'body') || field === 'manifest_yaml'
      ? 'body: a manifest is expected, as application/yaml or {manifest_yaml}'
      : `${field}: ${first?.message ?? 'is wrong'}`;
  throw new SvcError('invalid_argument', text, { field });
}

/** The manifest and options of a deploy, from body and query. Throws `invalid_argument`. */
function deployment(asked: unknown, query: z.output<typeof DeployQuery>) {
  const body = manifestBody(DeployBody, asked);
  const scope = body.scope ?? query.scope;
  const force = body.force || isSet(query.force);
  return { manifest_yaml: body.manifest_yaml, force, scope };
}
