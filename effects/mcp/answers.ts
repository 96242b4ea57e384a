/** Something else than MCP says, by the SDK's own schemas or ours. */
export const isParseError = (error: unknown): boolean => error instanceof Error && /^\$?ZodError$/.test(error.name);

/** Too many requests, or trouble that is not ours: the same session may work again. */
export const isPassing = (status: number | undefined): boolean =>
  status === 429 || (status !== undefined && status >= 500);

/** Of a call that says how far it is and nothing else. */
export const shareOf = (progress: number, total: number | undefined): string =>
  total === undefined ? String(progress) : `${progress}/${total}`;
