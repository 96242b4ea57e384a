#!/usr/bin/env node
// The cache must be on before anything else is loaded, so the program itself is imported afterwards.
import './compile-cache.ts';

const { runSvc } = await import('./program.ts');
process.exitCode = await runSvc(process.argv.slice(2));
