import swaggerUi from '@fastify/swagger-ui';
import type { RestApp } from './parts.ts';

/** Tighter than the package's own, which allows styles and fonts from anywhere and asks for https on plain http nodes. */
const POLICY = [
  "default-src 'self'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * The page at /docs to read the API description. All its files come with the package, and its policy lets a browser
 * load nothing from elsewhere.
 */
export function docsPage(app: RestApp, _options: object, done: () => void): void {
  // Its routes bring no access of their own; the page says nothing that the description does not.
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, access: 'public' };
  });
  app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: POLICY,
    uiConfig: { url: '/v1/openapi.json', validatorUrl: null, deepLinking: true },
    theme: { title: 'svc API' },
  });
  done();
}
