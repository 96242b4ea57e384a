/** What a validator looks at: for a model its text, exit code 0 and an empty stderr. */
export interface IterationResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exit_code: number | null;
}

/** Null: it passed. A text: why it did not. */
export type Complaint = string | null;
