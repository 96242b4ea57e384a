import { bearerToken } from '../../../../security/api.ts';
import { listedTools } from '../../../seal/listed-tools.ts';
import type { SealParts } from '../../../seal/parts.ts';
import type { RestApp } from '../../parts.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { ToolsAnswer } from '../../schemas/seal.ts';

const schema = {
  tags: ['seal'],
  summary: 'List the tools of an attested agent’s session',
  description: 'The bearer is the security token of the session, not one of an identity provider.',
  response: { 200: ToolsAnswer, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/seal/tools, for the agent by its own token, on every address alike. */
export function listToolsRoute(app: RestApp, parts: SealParts): void {
  app.get('/v1/seal/tools', { config: { access: 'public' }, schema }, async (request) => {
    const { tool, tools, total } = await listedTools(parts, bearerToken(request.headers.authorization));
    return { tool, tools: [...tools], total };
  });
}
