import swaggerUi from '@fastify/swagger-ui';
import type { RestApp } from './parts.ts';

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
    staticCSP: true,
    uiConfig: { url: '/v1/openapi.json', validatorUrl: null, deepLinking: true },
    theme: { title: 'svc API' },
  });
  done();
}
