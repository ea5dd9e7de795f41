import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

export default defineConfig({
  // Relative, so that the built folder works under any path of any static host.
  base: './',
  plugins: [svelte({ compilerOptions: { runes: true } })],
  worker: { format: 'es' },
  build: {
    target: 'es2022',
    // No styles or scripts inside the document: its Content-Security-Policy allows none.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
