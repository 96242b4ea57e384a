import type { RE2JS } from 're2js';
import { lateLibrary } from './late-library.ts';

const engine = lateLibrary<typeof import('re2js')>('re2js');

/** Compiles on the RE2 engine; throws its error. */
export const compileRe2 = (pattern: string): RE2JS => engine().RE2JS.compile(pattern);
