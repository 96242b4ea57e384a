#!/usr/bin/env node
// The cache must be on before other modules load, so the program is imported dynamically.
import './compile-cache.ts';

const { runSvc } = await import('./program.ts');
process.exitCode = await runSvc(process.argv.slice(2));
