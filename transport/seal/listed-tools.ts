import { SvcError } from '../../runtime/errors.ts';
import type { SealParts } from './parts.ts';

/** As `svc.tools.list` answers (spec 3, Tool discovery). */
export interface ListedTools {
  readonly tool: 'svc.tools.list';
  readonly tools: readonly {
    readonly name: string;
    readonly description: string;
    readonly source: 'builtin' | 'mcp';
    readonly skip_judge: boolean;
    /** JSON Schema of its arguments. */
    readonly input_schema: Readonly<Record<string, unknown>>;
  }[];
  readonly total: number;
}

/**
 * The tools of a session, for the agent whose security token it is. Throws `unauthenticated` for a bad token, `forbidden`
 * when the session is over.
 */
export async function listedTools(
  { tokens, sessions }: Pick<SealParts, 'tokens' | 'sessions'>,
  token: string | undefined,
): Promise<ListedTools> {
  if (token === undefined) throw new SvcError('unauthenticated', 'The security token of an attested agent is needed.');
  const { tenant, sessionId } = await tokens.verify(token);
  const offers = await ofSession(sessions.tools(tenant, sessionId));
  const tools = offers.map(({ name, description, source, skip_judge, input_schema }) => ({
    name,
    description,
    source,
    skip_judge,
    input_schema,
  }));
  return { tool: 'svc.tools.list', tools, total: tools.length };
}

async function ofSession<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (thrown) {
    const isOver = thrown instanceof SvcError && (thrown.code === 'not_found' || thrown.code === 'failed_precondition');
    if (isOver) throw new SvcError('forbidden', 'the session is not active', { cause: thrown });
    throw thrown;
  }
}
