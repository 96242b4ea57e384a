import type { ToolOffer } from '../../../../manifests/tool/scope.ts';
import { callerGrant } from '../../../caller-tools/grant.ts';
import type { CallerToolParts } from '../../../caller-tools/parts.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { isSet } from '../../schemas/catalog.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { ToolList, ToolsQuery } from '../../schemas/tools.ts';

const schema = {
  tags: ['tools'],
  summary: 'List the tools the caller may use',
  description: 'Without those of files and commands, which belong to an execution.',
  headers: CallerHeaders,
  querystring: ToolsQuery,
  response: { 200: ToolList, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/tools: svc.tools.list, and svc.tools.search with `query` (spec 3). */
export function listToolsRoute(app: RestApp, parts: CallerToolParts): void {
  app.get('/v1/tools', { config: { access: 'read' }, schema }, async (request) => {
    const { query, schemas } = request.query;
    const wanted = query?.toLowerCase() ?? '';
    const { tools } = await callerGrant(parts, callerOf(request));
    const found = tools
      .filter(({ name, description }) => `${name}\n${description}`.toLowerCase().includes(wanted))
      .map((offer) => told(offer, isSet(schemas)));
    const tool = query === undefined ? ('svc.tools.list' as const) : ('svc.tools.search' as const);
    return { tool, tools: found, total: found.length };
  });
}

const told = ({ name, description, source, skip_judge, input_schema }: ToolOffer, withSchema: boolean) => ({
  ...{ name, description, source, skip_judge },
  ...(withSchema ? { input_schema } : {}),
});
