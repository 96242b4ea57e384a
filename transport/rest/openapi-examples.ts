/** A JSON Schema as the generator writes it; only what examples need. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly prefixItems?: readonly Schema[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
}

interface Content {
  readonly schema?: Schema;
  example?: unknown;
}

interface Described {
  readonly paths?: Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, unknown>> };
}

const UUID = '5b0f6a1e-3c4d-4e8f-9a1b-2c3d4e5f6a7b';
const TIME = '2026-01-31T12:00:00.000Z';
const HASH = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const MANIFEST =
  'apiVersion: svc.dev/v1\nkind: Agent\nmetadata: { name: summarizer, version: 1.0.0 }\nspec:\n  task: { instruction: Summarize the text. }\n';

/** What members of these names hold in examples, so that a reader sees what is meant. */
const BY_NAME: readonly (readonly [name: RegExp, value: unknown])[] = [
  [/(^|_)trace_id$/, TRACE],
  [/^(?:content|input)$/, 'A long text.'],
  [/^(?:id|.*_id)$/, UUID],
  [/^(?:at|time|until|from|to|.*_at)$/, TIME],
  [/^(?:name|agent|agent_name)$/, 'summarizer'],
  [/^workflow(?:_name)?$/, 'publish'],
  [/^version$/, '1.0.0'],
  [/^(?:manifest_yaml|manifest)$/, MANIFEST],
  [/^config_yaml$/, 'apiVersion: svc.dev/v1\nkind: ManagedConfig\nspec: {}\n'],
  [/(?:hash|sha256|digest)$/, HASH],
  [/^api_key$/, 'secret:providers/openai'],
  [/^(?:tenant|tenant_id)$/, 'svc-system'],
  [/^(?:subject|owner|by)$/, 'ada'],
  [/^(?:node|node_id)$/, 'node-1'],
  [/^(?:error_type|code|error_code)$/, 'model_refused'],
  [/^message$/, 'Provider "openai", model "small": it answered 401: the credentials are refused'],
  [/^(?:prompt|instruction)$/, 'Publish this text?'],
  [/^(?:reason|feedback)$/, 'It is ready.'],
  [/^(?:intent|query|q)$/, 'Summarize the text.'],
  [/^(?:output|last_output|final_output|result)$/, 'A short text.'],
  [/^source$/, 'http_api'],
  [/^(?:path|prefix)$/, '/notes.md'],
  [/^address$/, `execution/svc-system/${UUID}`],
  [/^grpc_address$/, '10.0.0.7:50056'],
  [/url$|^endpoint$/, 'http://localhost:8080'],
];

/** Texts for members without a name of their own, for patterns and formats: the first that fits is taken. */
const TEXTS: readonly string[] = [
  'text',
  UUID,
  TIME,
  TRACE,
  HASH,
  '1.0.0',
  'summarizer',
  'KEY=VALUE',
  '/workspace',
  '127.0.0.1:50056',
  'http://localhost:8080',
  '1',
  '5m',
  'gpu',
  `execution/svc-system/${UUID}`,
];

const DEEPEST = 8;

/** Bodies of the calls that a reader tries first, by operationId. Those of others hold the members that are required. */
const BODIES: Readonly<Record<string, unknown>> = {
  'executions.start': { agent_id: 'summarizer', input: 'A long text.' },
  'agents.execute': { intent: 'Summarize the text.', input: { text: 'A long text.' } },
  'workflows.run': { intent: 'Publish the text.', input: { topic: 'whales' }, labels: { team: 'docs' } },
  'approvals.approve': { feedback: 'It is ready.', approved_by: 'ada' },
  'approvals.reject': { reason: 'It is too long.', rejected_by: 'ada' },
  'stimuli.ingest': { source: 'http_api', content: '{"order": 7}', idempotency_key: 'order-7' },
};

/** Components whose members depend on each other. */
const COMPONENTS: Readonly<Record<string, unknown>> = {
  ExecutionStatus: {
    execution_id: UUID,
    agent_id: UUID,
    status: 'failed',
    iteration_count: 1,
    last_output: null,
    last_error: 'model_refused: Provider "openai", model "small": it answered 401: the credentials are refused',
    outcome: 'failed',
    error: {
      code: 'model_refused',
      message: 'Provider "openai", model "small": it answered 401: the credentials are refused',
      cause: null,
    },
    started_at: TIME,
    ended_at: TIME,
    usage: { input_tokens: 0, output_tokens: 0, cost: 0 },
    trace_id: TRACE,
  },
};

/** Makes examples of the schemas of one API description. */
class Examples {
  readonly #schemas: Readonly<Record<string, unknown>>;
  /** Whether an example omits members that are not required. */
  readonly #isShort: boolean;

  constructor(schemas: Readonly<Record<string, unknown>>, isShort: boolean) {
    this.#schemas = schemas;
    this.#isShort = isShort;
  }

  of(schema: Schema, name = '', depth = 0): unknown {
    if (schema.$ref !== undefined) {
      const component = schema.$ref.replace('#/components/schemas/', '');
      return COMPONENTS[component] ?? this.of(this.#named(component), name, depth);
    }
    if (schema.const !== undefined) return schema.const;
    if (schema.enum !== undefined) return schema.enum[0];
    const choice = (schema.anyOf ?? schema.oneOf)?.find((one) => one.type !== 'null');
    if (choice !== undefined) return this.of(choice, name, depth);
    if (schema.allOf !== undefined) return Object.assign({}, ...schema.allOf.map((one) => this.of(one, name, depth)));
    const type = Array.isArray(schema.type) ? schema.type.find((one: unknown) => one !== 'null') : schema.type;
    switch (type) {
      case 'object':
        return this.#object(schema, depth);
      case 'array':
        return this.#array(schema, name, depth);
      case 'string':
        return textOf(schema, name);
      case 'integer':
      case 'number':
        return numberOf(schema);
      case 'boolean':
        return true;
      case 'null':
        return null;
      default:
        return byName(name, isAny) ?? {};
    }
  }

  #named(component: string): Schema {
    const found = this.#schemas[component];
    return typeof found === 'object' && found !== null ? found : {};
  }

  /** All members, or only the required ones where examples would nest without end. */
  #object({ properties = {}, required = [] }: Schema, depth: number): unknown {
    const isWhole = depth < DEEPEST && !this.#isShort;
    const members = Object.entries(properties).filter(([key]) => isWhole || required.includes(key));
    return Object.fromEntries(members.map(([key, schema]) => [key, this.of(schema, key, depth + 1)]));
  }

  #array({ items, prefixItems, minItems = 0 }: Schema, name: string, depth: number): unknown {
    if (prefixItems !== undefined) return prefixItems.map((one) => this.of(one, name, depth + 1));
    if (items === undefined || (depth >= DEEPEST && minItems === 0)) return [];
    return [this.of(items, name.replace(/s$/, ''), depth + 1)];
  }
}

const isAny = (): boolean => true;

const byName = (name: string, fits: (value: unknown) => boolean): unknown =>
  BY_NAME.find(([pattern, value]) => pattern.test(name) && fits(value))?.[1];

function textOf(schema: Schema, name: string): string {
  const { pattern, minLength = 0, maxLength = Number.MAX_SAFE_INTEGER } = schema;
  const wanted = pattern === undefined ? null : new RegExp(pattern, 'u');
  const fits = (value: unknown): value is string =>
    typeof value === 'string' &&
    value.length >= minLength &&
    value.length <= maxLength &&
    wanted?.test(value) !== false;
  if (fits(schema.default)) return schema.default;
  const formatted = schema.format === 'date-time' ? TIME : schema.format === 'uuid' ? UUID : undefined;
  const named = byName(name, fits);
  const found = [formatted, named, ...TEXTS].find(fits);
  return found ?? 'x'.repeat(Math.max(1, minLength));
}

function numberOf({ default: usual, minimum, exclusiveMinimum, maximum = Number.MAX_SAFE_INTEGER }: Schema): number {
  if (typeof usual === 'number') return usual;
  const least = minimum ?? (exclusiveMinimum === undefined ? 1 : exclusiveMinimum + 1);
  return Math.min(Math.max(1, least), maximum);
}

/** Adds an example to every body, answer and path parameter of an API description. */
export function withExamples<T extends Described>(described: T): T {
  const schemas = described.components?.schemas ?? {};
  const [bodies, answers] = [new Examples(schemas, true), new Examples(schemas, false)];
  const add = (contents: Readonly<Record<string, Content>> | undefined, examples: Examples): void => {
    for (const [type, content] of Object.entries(contents ?? {})) {
      if (content.schema === undefined || content.example !== undefined) continue;
      // A record of a stream.
      if (type === 'application/json' || type === 'text/event-stream') content.example = examples.of(content.schema);
      if (type === 'application/yaml') content.example = MANIFEST;
    }
  };
  for (const methods of Object.values(described.paths ?? {})) {
    for (const operation of Object.values(methods ?? {})) {
      if (typeof operation !== 'object' || operation === null) continue;
      const { operationId = '', requestBody, responses, parameters }: Operation = operation;
      const json = requestBody?.content?.['application/json'];
      if (json !== undefined && BODIES[operationId] !== undefined) json.example = BODIES[operationId];
      add(requestBody?.content, bodies);
      add(responses?.['200']?.content, answers);
      for (const parameter of parameters ?? []) {
        if (parameter.in !== 'path' || parameter.schema === undefined) continue;
        parameter.example = answers.of(parameter.schema, parameter.name);
      }
    }
  }
  return described;
}

interface Operation {
  readonly operationId?: string;
  readonly requestBody?: { readonly content?: Readonly<Record<string, Content>> };
  readonly responses?: Readonly<Record<string, { readonly content?: Readonly<Record<string, Content>> } | undefined>>;
  readonly parameters?: readonly {
    readonly in: string;
    readonly name: string;
    readonly schema?: Schema;
    example?: unknown;
  }[];
}
