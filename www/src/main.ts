/** The page: opens session logs and shows what the model saw, when and why. */

import { mount } from 'svelte';
import App from './App.svelte';
import { app } from './state.svelte.js';
import './style.css';
import './views.css';

const target = document.getElementById('app');
if (!target) throw new Error('#app is missing');
target.replaceChildren();
mount(App, { target });
app.start();
