import { isDeepStrictEqual } from 'node:util';
import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import { type FastifyInstance, type FastifySchema, fastify, type RouteOptions } from 'fastify';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { Lazy } from '../../runtime/kit/lazy.ts';
import { withExamples } from './openapi-examples.ts';

interface DescribedBy {
  readonly version: string;
  /** Whether callers need a bearer token. */
  readonly bearer: boolean;
}

/**
 * The API description, built from the schemas that validate the routes. It is built, and its packages are loaded, at the first
 * request for it: loading them takes a tenth of a node's start.
 */
export class ApiDescription {
  readonly #routes: RouteOptions[] = [];
  readonly #by: DescribedBy;
  readonly #described = new Lazy(() => this.#describe());
  readonly #json = new Lazy(async () => Buffer.from(JSON.stringify((await this.#described.get()).swagger())));

  /**
   * Call it before routes are added. It takes the schemas of errors out of the routes: errors are written without them, and
   * the framework would make a serializer for each status of each route.
   */
  constructor(app: FastifyInstance, by: DescribedBy) {
    this.#by = by;
    app.addHook('onRoute', (route) => {
      this.#routes.push({ ...route });
      if (route.schema !== undefined) route.schema = withoutProblems(route.schema);
    });
  }

  /** Built once and sent to all clients from the same memory, since it needs no token. */
  json(): Promise<Buffer> {
    return this.#json.get();
  }

  async yaml(): Promise<string> {
    return (await this.#described.get()).swagger({ yaml: true });
  }

  /** The generator reads the routes of an application; these have no handlers and are never called. */
  async #describe(): Promise<FastifyInstance> {
    const { default: swagger } = await import('@fastify/swagger');
    const { version, bearer } = this.#by;
    const described = fastify({ exposeHeadRoutes: false });
    described.setValidatorCompiler(() => () => true);
    described.setSerializerCompiler(() => JSON.stringify);
    await described.register(swagger, openapiOptions(version, bearer));
    for (const { method, url, schema = {}, config = {} } of this.#routes)
      described.route({ method, url, schema, config, handler: async () => null });
    await described.ready();
    return described;
  }
}

const FIRST_ERROR = 400;

function withoutProblems(schema: FastifySchema): FastifySchema {
  const answers = Object.entries(schema.response ?? {}).filter(([status]) => Number(status) < FIRST_ERROR);
  return { ...schema, response: Object.fromEntries(answers) };
}

const DESCRIPTION = `Deploy agents and workflows, start executions, follow them live, answer what waits for a human.

Errors: agent and execution routes answer 400, 404 and 500 with \`{"error": TEXT}\`; everything else is
\`{"error": CODE, "message": TEXT}\`.`;

type BodyContent = Readonly<Record<string, { readonly schema: z.ZodType }>>;

/** The contents of a body with several content types, as deploy-agent declares it. */
function bodyContents(body: unknown): BodyContent | undefined {
  if (typeof body !== 'object' || body === null || !('content' in body)) return undefined;
  const contents: Record<string, { schema: z.ZodType }> = {};
  for (const [type, entry] of Object.entries(body.content ?? {})) {
    if (entry?.schema instanceof z.ZodType) contents[type] = { schema: entry.schema };
  }
  return contents;
}

type Transform = NonNullable<FastifyDynamicSwaggerOptions['transform']>;

/** Adds bodies with several content types: the type provider's transform handles one type for each route. */
const transform: Transform = (route) => {
  const contents = bodyContents(route.schema?.body);
  if (contents === undefined) return jsonSchemaTransform(route);
  const { body: _body, ...others } = route.schema;
  const { schema, url } = jsonSchemaTransform({ ...route, schema: others });
  const content = Object.fromEntries(
    Object.entries(contents).map(([type, entry]) => [
      type,
      { schema: jsonSchemaTransform({ ...route, schema: { body: entry.schema } }).schema.body },
    ]),
  );
  return { schema: { ...schema, body: { content } }, url };
};

/**
 * Corrects bodies that are optional, since the generator marks every body as required; an empty file is a valid body.
 */
const transformObject: NonNullable<FastifyDynamicSwaggerOptions['transformObject']> = (generated) => {
  if (!('openapiObject' in generated)) return generated.swaggerObject;
  for (const methods of Object.values(generated.openapiObject.paths ?? {})) {
    const body = methods?.put?.requestBody;
    if (body !== undefined && 'content' in body && 'application/octet-stream' in body.content) body.required = false;
  }
  const document = withExamples(withComponents(jsonSchemaTransformObject(generated)));
  simplifyForGenerators(document);
  return document;
};

/**
 * Changes two forms that client generators refuse: a schema of several types becomes alternatives, and a header with the name
 * of a query parameter gets a name of its own for Go.
 */
function simplifyForGenerators(part: unknown): void {
  if (typeof part !== 'object' || part === null) return;
  if ('type' in part && Array.isArray(part.type) && part.type.filter((type) => type !== 'null').length > 1) {
    Object.assign(part, { anyOf: part.type.map((type: unknown) => ({ type })) });
    Reflect.deleteProperty(part, 'type');
  }
  if ('in' in part && part.in === 'header' && 'name' in part && part.name === 'last-event-id')
    Object.assign(part, { 'x-go-name': 'LastEventIdHeader' });
  for (const inner of Object.values(part)) simplifyForGenerators(inner);
}

/** Options of the generator: OpenAPI 3.1 from the schemas of the routes. */
function openapiOptions(version: string, bearer: boolean): FastifyDynamicSwaggerOptions {
  return {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'svc',
        version,
        description: DESCRIPTION,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      // Relative to the URL of the document.
      servers: [{ url: '/' }],
      tags: [
        { name: 'agents', description: 'Deployed agents' },
        { name: 'executions', description: 'Runs of agents' },
        { name: 'workflows', description: 'State machines of agents, people, commands and containers, and their runs' },
        { name: 'approvals', description: 'Questions to humans' },
        { name: 'stimuli', description: 'Events from outside, and where they are routed' },
        { name: 'volumes', description: 'Storage that outlives a run, and its files' },
        { name: 'manifests', description: 'Schemas of manifests' },
        { name: 'cortex', description: 'Solutions of earlier errors' },
        { name: 'tools', description: 'Tools for callers without an agent' },
        { name: 'seal', description: 'Signed tool calls of agents, and their audit chains' },
        { name: 'cluster', description: 'Nodes of the fleet, for operators' },
        { name: 'chaos', description: 'Fault injection, for operators' },
        { name: 'api keys', description: 'Keys that act for the users who created them' },
        { name: 'rate limits', description: 'Limits set at run time, and their use by callers' },
        { name: 'secrets', description: 'Values by path, never shown' },
        { name: 'execute', description: 'Goals reached by a program that an agent writes' },
        { name: 'health', description: 'Liveness and readiness' },
      ],
      components: {
        securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      },
      // An open node takes calls without a token, too.
      security: bearer ? [{ bearer: [] }] : [{ bearer: [] }, {}],
    },
    transform,
    transformObject,
  };
}

/** The parts of an API description that are read here. */
interface Described {
  readonly paths?: unknown;
  readonly components?: { readonly schemas?: Readonly<Record<string, unknown>> };
}

const COMPONENT = '#/components/schemas/';

/** Suffix that the type provider adds to schemas of requests. */
const INPUT = 'Input';

/** Names of the components that a part of the description refers to. */
const namesIn = (part: unknown): string[] =>
  [...JSON.stringify(part ?? null).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name = '']) => name);

/** The components that the paths refer to, and those that these refer to. */
function usedNames(paths: unknown, schemas: Readonly<Record<string, unknown>>): ReadonlySet<string> {
  const used = new Set<string>();
  const open = namesIn(paths);
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (used.has(name)) continue;
    used.add(name);
    open.push(...namesIn(schemas[name]));
  }
  return used;
}

/**
 * The type provider makes two components of each named schema: NAME for answers and NAMEInput for requests. This keeps only
 * those that something refers to, and removes the suffix of a NAMEInput when no answer has another schema by that name.
 */
function withComponents<T extends Described>(described: T): T {
  const made = described.components?.schemas ?? {};
  const used = usedNames(described.paths, made);
  const isOnlyOne = (name: string): boolean => {
    const plain = name.slice(0, -INPUT.length);
    return !used.has(plain) || isDeepStrictEqual(made[plain], made[name]);
  };
  const nameOf = (name: string): string =>
    name.endsWith(INPUT) && isOnlyOne(name) ? name.slice(0, -INPUT.length) : name;
  const schemas = Object.fromEntries([...used].sort().map((name) => [nameOf(name), made[name]]));
  const kept = { ...described, components: { ...described.components, schemas } };
  return JSON.parse(JSON.stringify(kept), (key, value: unknown) =>
    key === '$ref' && typeof value === 'string' && value.startsWith(COMPONENT)
      ? `${COMPONENT}${nameOf(value.slice(COMPONENT.length))}`
      : value,
  );
}
