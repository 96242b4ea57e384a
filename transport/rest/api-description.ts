import { type FastifyInstance, fastify, type RouteOptions } from 'fastify';
import { Lazy } from '../../runtime/kit/lazy.ts';
import { openapiOptions } from './openapi-document.ts';

interface DescribedBy {
  readonly version: string;
  /** Whether callers need a bearer token. */
  readonly bearer: boolean;
}

/**
 * The API description, made from the schemas that validate the routes. It is made, and what makes it is loaded, when a client first
 * asks: the packages are a tenth of a start.
 */
export class ApiDescription {
  readonly #routes: RouteOptions[] = [];
  readonly #by: DescribedBy;
  readonly #described = new Lazy(() => this.#describe());
  readonly #json = new Lazy(async () => Buffer.from(JSON.stringify((await this.#described.get()).swagger())));

  /** Call it before routes are added. */
  constructor(app: FastifyInstance, by: DescribedBy) {
    this.#by = by;
    app.addHook('onRoute', (route) => {
      if (route.method !== 'HEAD') this.#routes.push(route);
    });
  }

  /** Made once and sent to all clients from the same memory, since it needs no token. */
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
