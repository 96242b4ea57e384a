/**
 * Runs after `npm ci`. Plain JavaScript: without the development packages npm runs it with the Node.js of the machine,
 * which may not strip types.
 */
try {
  import.meta.resolve('esbuild');
  const { buildIfStale } = await import('./build.ts');
  await buildIfStale();
} catch (error) {
  if (error?.code !== 'ERR_MODULE_NOT_FOUND' && error?.code !== 'ERR_UNKNOWN_FILE_EXTENSION') throw error;
  console.log('dashboard: not built, since the development packages are not installed; `npm ci` builds it.');
}
