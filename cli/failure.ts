/** Exit codes of `svc` (docs: cli/README.md). `interrupted` is what a shell expects after Ctrl-C. */
export const EXIT = {
  ok: 0,
  notFound: 1,
  validation: 2,
  permission: 3,
  conflict: 4,
  connection: 5,
  internal: 10,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A failure as the user sees it: one line, an exit code, and one more line for each problem of a document. */
export class CliFailure extends Error {
  override readonly name = 'CliFailure';
  readonly exitCode: ExitCode;
  /** One line for each problem of a document. */
  readonly problems: readonly string[];

  constructor(exitCode: ExitCode, message: string, problems: readonly string[] = []) {
    super(message);
    this.exitCode = exitCode;
    this.problems = problems;
  }
}

/** A wrong option or argument. The message names it and says what was expected. */
export const invalid = (message: string): CliFailure => new CliFailure(EXIT.validation, message);

/** The exit code for an HTTP status of the node. Statuses that may pass on retry count as connection failures. */
export function exitCodeOf(status: number): ExitCode {
  if (status === 404) return EXIT.notFound;
  if (status === 401 || status === 403) return EXIT.permission;
  if (status === 409) return EXIT.conflict;
  if (isPassing(status)) return EXIT.connection;
  return status >= 400 && status < 500 ? EXIT.validation : EXIT.internal;
}

/** Statuses for which a later retry may succeed. */
export const isPassing = (status: number): boolean =>
  status === 408 || status === 429 || status === 502 || status === 503 || status === 504;

/** Code of a system error such as ENOENT. */
export const errorCode = (thrown: unknown): string =>
  thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unknown error';
