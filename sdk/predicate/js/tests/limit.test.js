import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';

/** How a program ends that evaluates a predicate with this body. */
function evaluated(body) {
  const folder = mkdtempSync(join(tmpdir(), 'nodesift-'));
  const url = (file) => JSON.stringify(new URL(`../src/${file}`, import.meta.url).href);
  const lines = [
    `import { predicate } from ${url('index.js')};`,
    `import { cluster } from ${url('testing.js')};`,
    `import { limit } from ${url('testing/limit.js')};`,
    'limit.ms = 50;',
    `const filter = () => { ${body} };`,
    "cluster({ nodes: [{ name: 'a' }] }).rejected(predicate({ name: 'Test', summary: 'tests', reads: [], filter }));",
    "console.log('done');",
  ];
  writeFileSync(join(folder, 'rule.mjs'), lines.join('\n'));
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, ['rule.mjs'], { cwd: folder, encoding: 'utf8' });
  rmSync(folder, { recursive: true });
  return { status, signal, stdout, stderr };
}

test('a loop that does not end is told by its line', () => {
  const { signal, stdout, stderr } = evaluated('for (;;);');
  assert.equal(signal, 'SIGTERM');
  assert.equal(stdout, '');
  assert.match(stderr, /^FAILED: no answer within 0\.05 s, at (.*\/)?rule\.mjs:5 in filter\n$/);
});

test('one that answers in time ends as ever', () => {
  assert.deepEqual(evaluated(''), { status: 0, signal: null, stdout: 'done\n', stderr: '' });
});
