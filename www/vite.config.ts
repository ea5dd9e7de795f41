import { defineConfig } from 'vite';

export default defineConfig({
  // Relative, so that the built folder works under any path of any static host.
  base: './',
  build: {
    target: 'es2022',
    // No styles or scripts inside the document: its Content-Security-Policy allows none.
    assetsInlineLimit: 0,
  },
});
