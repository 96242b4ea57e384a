import { z } from 'zod';

export const LANGUAGES = ['python', 'javascript', 'typescript', 'rust', 'go'] as const;
export type Language = (typeof LANGUAGES)[number];

const image = z.string().min(1).max(1_024);

const Entry = z.union([
  image.transform((name): RuntimeEntry => ({ image: name, deprecated: false, env: {} })),
  z.strictObject({
    image,
    /** For those who choose one (svc.runtime.list); default: language, version and image. */
    description: z.string().min(1).max(500).optional(),
    /** It works still; each execution with it is a warning in the log. */
    deprecated: z.boolean().default(false),
    /** For the agent's bootstrap, beside what the manifest says. */
    env: z
      .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected letters, digits and _'), z.string())
      .default({}),
  }),
]);
/** What a language and a version stand for. */
export interface RuntimeEntry {
  readonly image: string;
  readonly description?: string | undefined;
  readonly deprecated: boolean;
  readonly env: Readonly<Record<string, string>>;
}

/** `spec.runtime.containers.runtimes`: language, version, image; null takes a default away. Laid over the table. */
export const RuntimeSettings = z.partialRecord(
  z.enum(LANGUAGES),
  z.record(z.string().min(1).max(50), Entry.nullable()),
);
export type RuntimeSettings = z.output<typeof RuntimeSettings>;
