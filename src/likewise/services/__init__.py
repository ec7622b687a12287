"""Classifiers under audit that live behind a service: asked politely, paid for knowingly, and every answer kept."""
