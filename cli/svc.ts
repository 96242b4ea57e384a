#!/usr/bin/env node
// Nothing is imported before the check: a version that is too old could not even read it.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 15) || major === 23) {
  process.stderr.write(`svc: needs Node.js 22.15 or later, or 24; this is ${process.versions.node}\n`);
  process.exitCode = 10;
} else {
  // The cache must be on before other modules load, so the program is imported dynamically.
  await import('./compile-cache.ts');
  const { runSvc } = await import('./program.ts');
  process.exitCode = await runSvc(process.argv.slice(2));
}
