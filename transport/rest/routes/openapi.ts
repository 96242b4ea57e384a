import type { RestApp } from '../parts.ts';

/** GET /v1/openapi.json: the description made of the schemas the routes are checked with. */
export function openapiRoute(app: RestApp): void {
  app.get('/v1/openapi.json', { config: { access: 'public' }, schema: { hide: true } }, async (_request, reply) =>
    reply.type('application/json; charset=utf-8').serializer(JSON.stringify).send(app.swagger()),
  );
}
