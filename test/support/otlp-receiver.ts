import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import protobuf from 'protobufjs';
import { z } from 'zod';

type Field = readonly [type: string, id: number, rule?: 'repeated'];

const message = (fields: Readonly<Record<string, Field>>) => ({
  fields: Object.fromEntries(Object.entries(fields).map(([name, [type, id, rule]]) => [name, { type, id, rule }])),
});

/** The numbers of the fields as opentelemetry-proto publishes them, of those that tests read. */
const OTLP = {
  nested: {
    ExportTraceServiceRequest: message({ resource_spans: ['ResourceSpans', 1, 'repeated'] }),
    ResourceSpans: message({ resource: ['Resource', 1], scope_spans: ['ScopeSpans', 2, 'repeated'] }),
    Resource: message({ attributes: ['KeyValue', 1, 'repeated'] }),
    ScopeSpans: message({ spans: ['Span', 2, 'repeated'] }),
    Span: message({
      trace_id: ['bytes', 1],
      span_id: ['bytes', 2],
      trace_state: ['string', 3],
      parent_span_id: ['bytes', 4],
      name: ['string', 5],
      kind: ['uint32', 6],
      start_time_unix_nano: ['fixed64', 7],
      end_time_unix_nano: ['fixed64', 8],
      attributes: ['KeyValue', 9, 'repeated'],
      links: ['Link', 13, 'repeated'],
      status: ['Status', 15],
    }),
    Link: message({ trace_id: ['bytes', 1], span_id: ['bytes', 2] }),
    Status: message({ message: ['string', 2], code: ['uint32', 3] }),
    KeyValue: message({ key: ['string', 1], value: ['AnyValue', 2] }),
    AnyValue: message({
      string_value: ['string', 1],
      bool_value: ['bool', 2],
      int_value: ['int64', 3],
      double_value: ['double', 4],
      array_value: ['ArrayValue', 5],
    }),
    ArrayValue: message({ values: ['AnyValue', 1, 'repeated'] }),
  },
};

const hex = z.instanceof(Buffer).transform((bytes) => bytes.toString('hex'));
const Attributes = z
  .array(z.object({ key: z.string(), value: z.record(z.string(), z.unknown()) }))
  .default([])
  .transform((all) => Object.fromEntries(all.map(({ key, value }) => [key, Object.values(value)[0]])));

const Span = z.object({
  trace_id: hex,
  span_id: hex,
  trace_state: z.string().optional(),
  parent_span_id: hex.optional(),
  name: z.string(),
  kind: z.number(),
  start_time_unix_nano: z.string(),
  end_time_unix_nano: z.string(),
  attributes: Attributes,
  links: z.array(z.object({ trace_id: hex, span_id: hex })).default([]),
  status: z.object({ message: z.string().optional(), code: z.number().optional() }).optional(),
});

export type ReceivedSpan = z.output<typeof Span> & { readonly resource: Readonly<Record<string, unknown>> };

const Request = z.object({
  resource_spans: z.array(
    z.object({
      resource: z.object({ attributes: Attributes }),
      scope_spans: z.array(z.object({ spans: z.array(Span) })),
    }),
  ),
});

const requestType = protobuf.Root.fromJSON(OTLP).lookupType('ExportTraceServiceRequest');

function decoded(body: Buffer): ReceivedSpan[] {
  const plain = requestType.toObject(requestType.decode(body), { longs: String });
  return Request.parse(plain).resource_spans.flatMap(({ resource, scope_spans }) =>
    scope_spans.flatMap(({ spans }) => spans.map((span) => ({ ...span, resource: resource.attributes }))),
  );
}

/**
 * A receiver of OTLP over HTTP with protobuf, on a real socket. It decodes the published fields itself; the
 * Collector would have to be built with Go for each run, and would show nothing more.
 */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = [];
  /** Raw bodies, for texts that must be in none of them. */
  readonly bodies: Buffer[] = [];
  readonly headers: IncomingHttpHeaders[] = [];
  readonly paths: string[] = [];
  /** True: accepts requests and never answers. */
  hangs = false;
  readonly #server = createServer(async (request, response) => {
    this.paths.push(request.url ?? '');
    const body = await buffer(request);
    if (this.hangs) return;
    this.headers.push(request.headers);
    this.bodies.push(body);
    this.spans.push(...decoded(body));
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
  });

  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => void this.#server.close(() => resolve()));
  }

  of(trace: string): ReceivedSpan[] {
    return this.spans.filter(({ trace_id }) => trace_id === trace);
  }
}
